//! The schema language.
