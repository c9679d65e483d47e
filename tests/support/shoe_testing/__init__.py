"""What tests share: one role a module. ``tests/README.md`` lists the modules."""
