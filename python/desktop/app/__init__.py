"""What a desktop app's bundle has where its engine used to be."""
