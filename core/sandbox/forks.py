"""Fork workers from a process that has loaded its modules, one for each socket that it receives."""

import gc
import os
import signal
import socket
import struct
import sys

PROCESS_ID = struct.Struct(">I")
"""The reply to a received socket: the id of its worker."""


def available() -> bool:
    """Return whether this system lets forked processes be watched and ended safely, as Linux does from 5.3 on."""
    if sys.platform != "linux":
        return False
    try:
        descriptor = os.pidfd_open(os.getpid())
        try:
            signal.pidfd_send_signal(descriptor, 0)
        finally:
            os.close(descriptor)
    except OSError:
        return False
    return True


def fork_for_each_socket() -> None:
    """Return in a new process for each socket that standard input sends.

    The socket is the new process's standard input and output. This process ends with its own standard input. Call it
    before threads start and before anything foreign is read.
    """
    control = socket.socket(fileno=os.dup(0))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system removes ended workers at once
    gc.freeze()  # a collection would copy all pages that the workers share
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            sys.exit()
        worker = os.fork()
        if worker == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            os.dup2(descriptors[0], 0)
            os.dup2(descriptors[0], 1)
            os.close(descriptors[0])
            return
        os.close(descriptors[0])
        control.send(PROCESS_ID.pack(worker))
