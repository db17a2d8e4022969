"""The app's widgets; each looks after one part of the screen."""
