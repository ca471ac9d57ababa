//! Mode directory: the three controls, a bounded list of names and a few likely schemas.
