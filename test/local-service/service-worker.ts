import { writeSync } from 'node:fs';
import { startLocalService } from '../../src/local-service/server.ts';
import { machineClock } from '../helpers/clock.ts';

/** Run as a process of its own: a local service that says its address and serves until it is killed. */
const [stateDir = '', catalogFile = '', switches = '{}'] = process.argv.slice(2);
const service = await startLocalService({
  ...{ stateDir, catalogFile, port: 0, pid: process.pid, clock: machineClock },
  switches: JSON.parse(switches),
});
writeSync(1, `${service.url}\n`);
