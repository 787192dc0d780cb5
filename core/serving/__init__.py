"""Middleware around the pages and the HTTP API: host check, security headers, body limits, one worker."""
