//! Killing parts of the machinery at any moment: nobody is left, and the next run works. And
//! that no run finds anything of the one before it.
