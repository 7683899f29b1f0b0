import type { AddressInfo, Server, Socket } from 'node:net';
import { closing } from './closing.ts';

/** Has a server listen on a free port; it is closed with all its connections, at the latest at the end of its test. */
export async function listening(server: Server, host = '127.0.0.1') {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.once('close', () => sockets.delete(socket)));
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return closing({
    url: `http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`,
    /** Those that are open. */
    sockets,
    close: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  });
}
