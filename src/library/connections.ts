import type { Socket } from 'node:net';

/** The open connections of a client. */
export interface Connections {
  add(socket: Socket): void;
  /** Runs what waits for the service. Only while something does are the process held by them: a stream that nobody reads is none. */
  awaited<T>(work: () => Promise<T>): Promise<T>;
}

export function createConnections(): Connections {
  const sockets = new Set<Socket>();
  let waiting = 0;
  return {
    add(socket) {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    },
    async awaited(work) {
      if (waiting++ === 0) for (const socket of sockets) socket.ref();
      try {
        return await work();
      } finally {
        if (--waiting === 0) for (const socket of sockets) socket.unref();
      }
    },
  };
}
