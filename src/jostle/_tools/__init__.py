"""What every package needs and no physics is in: arguments and arrays, pickling, plug-ins, colours."""
