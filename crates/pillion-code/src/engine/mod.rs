//! Engines: language servers that know types.
