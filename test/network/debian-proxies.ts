import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { closing } from '../helpers/closing.ts';
import { temporaryFolder } from '../helpers/run.ts';

/** Squid or tinyproxy, from Debian's packages. */
export interface DebianProxy {
  readonly port: number;
  /** The access log so far. */
  log(): string;
  close(): Promise<void>;
}

export const user = 'ann';
/** With what has a meaning in a URL. */
export const password = 'p@ss:w/rd#1';

/** Resolves `service.test` to this machine. With `credentials`, it asks for `user` and `password`. */
export async function startSquid(credentials: boolean): Promise<DebianProxy> {
  // Another test may take the port before squid does, which ends then.
  return await trySquid(credentials).catch(() => trySquid(credentials));
}

async function trySquid(credentials: boolean): Promise<DebianProxy> {
  const folder = temporaryFolder();
  const port = await freePort();
  const path = (name: string): string => join(folder, name);
  writeFileSync(path('hosts'), '127.0.0.1 service.test\n');
  // How squid hands them to its helper.
  const right = `${user} ${password.replace('#', '%23')}`;
  const check = `[ "$pair" = '${right}' ] && echo OK || echo ERR`;
  writeFileSync(path('check'), `#!/bin/sh\nwhile read -r pair; do ${check}; done\n`, { mode: 0o755 });
  const who = credentials
    ? `auth_param basic program ${path('check')}\nacl known proxy_auth REQUIRED\nhttp_access allow known\n`
    : 'acl forbidden dstdomain forbidden.test\nhttp_access deny forbidden\nhttp_access allow all\n';
  writeFileSync(
    path('squid.conf'),
    `http_port 127.0.0.1:${port}
pid_filename none
netdb_filename none
hosts_file ${path('hosts')}
cache deny all
cache_log ${path('cache.log')}
access_log stdio:${path('access.log')}
buffered_logs off
${who}http_access deny all
`,
  );
  // Started by root, squid goes on as another user.
  chmodSync(folder, 0o777);
  return await started(spawn('squid', ['-N', '-f', path('squid.conf')]), port, path('access.log'));
}

export async function startTinyproxy(credentials: boolean): Promise<DebianProxy> {
  const folder = temporaryFolder();
  const port = await freePort();
  const log = join(folder, 'log');
  writeFileSync(
    join(folder, 'tinyproxy.conf'),
    `Port ${port}
Listen 127.0.0.1
Timeout 10
MaxClients 10
LogFile "${log}"
LogLevel Connect
${credentials ? `BasicAuth ${user} secret\n` : ''}`,
  );
  return await started(spawn('tinyproxy', ['-d', '-c', join(folder, 'tinyproxy.conf')]), port, log);
}

async function started(child: ChildProcess, port: number, log: string): Promise<DebianProxy> {
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (said += text));
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended: ${said}`);
  }
  return closing({
    port,
    log: () => readFileSync(log, 'utf8'),
    async close() {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  });
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => setTimeout(resolve, 20, false));
    socket.once('connect', () => socket.destroy());
  });
}

/** An unused port of 127.0.0.1. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
