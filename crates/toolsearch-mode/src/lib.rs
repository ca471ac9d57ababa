//! What a model sees and how its control calls are read and answered.
