"""What surrounds the pages and the HTTP API: host check, security headers, limits of bodies, one worker."""
