"""What a team writes down of its work in files of the project, `.memory/` and `.session-log/`."""
