# Shell functions of ./start and ./test. POSIX: Debian's dash, busybox and macOS run them.


# Print a Python that can make the environment, or say what to install.
find_python() {
  without_venv=""
  needed="import venv, ensurepip"
  if command -v uv >/dev/null; then needed="pass"; fi
  for candidate in python3.14 python3.13 python3.12 python3.11 python3; do
    # Some names are stubs that only say how to install that version, so each is tried.
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      if "$candidate" -c "$needed" >/dev/null 2>&1; then
        echo "$candidate"
        return
      fi
      without_venv=$candidate
    fi
  done
  if [ "$without_venv" ]; then
    echo "$without_venv has no venv module. Debian and Ubuntu: sudo apt install python3-venv" >&2
  else
    echo "OpenQuery needs Python 3.11 or newer. Debian 12, Ubuntu 24.04: sudo apt install python3 python3-venv" \
      "- Fedora: sudo dnf install python3 - macOS: brew install python" >&2
  fi
  return 1
}

# Make the environment in folder $2 of checkout $1 with the groups $3, unless it is complete.
ensure_environment() {
  if [ -x "$1/$2/bin/python" ] &&
    "$1/$2/bin/python" -I -S "$1/scripts/environment.py" --check "$1/$2" "$3" 2>/dev/null; then
    return
  fi
  python=$(find_python) || return 1
  "$python" -I "$1/scripts/environment.py" "$1/$2" "$3"
}
