//! Plugins as the dispatch uses them: manifests read strictly, commands as real processes.

mod calls;
mod conformance;
mod hooks;
mod manifests;
