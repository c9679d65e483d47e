"""What people read: messages as codes with arguments, and their texts in English and Chinese."""
