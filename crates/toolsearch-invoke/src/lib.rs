//! How tools are listed and run: providers, invokers and hooks.
