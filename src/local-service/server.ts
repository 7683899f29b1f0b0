import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../clock.ts';
import { makePrivateFolder } from '../files/private-folder.ts';
import { endOrphans } from './admission.ts';
import { openCatalogueOf } from './catalogue-store.ts';
import { createListener } from './listener.ts';
import { readScenario } from './scenario.ts';
import type { Service } from './service.ts';
import { openStore } from './store.ts';
import { createSwitches, type Switches } from './switches.ts';
import { advanceTasks, createTaskClock } from './tasks.ts';

export { CatalogueError } from './catalogue-file.ts';
export { LockTimeout, SQLite3Error } from './database.ts';
export { localKeys } from './keys.ts';
export { ScenarioError } from './scenario.ts';
export { SwitchError, toSwitches } from './switches.ts';

export interface LocalServiceOptions {
  /** Folder of the state: 0700, its files 0600. */
  readonly stateDir: string;
  /** The port on 127.0.0.1; 0 = any free one. */
  readonly port: number;
  /** This process: recorded with what it holds, so that what a killed process held can be told from it. */
  readonly pid: number;
  /** The user's own leads, .jsonl, .ndjson or .csv; absent = the demonstration. */
  readonly catalogFile?: string | undefined;
  readonly switches?: Partial<Switches> | undefined;
  /** Faults to rehearse, see `Fault` in scenario.ts. */
  readonly scenarioFile?: string | undefined;
  readonly clock: Clock;
  /** Receives a line per request; absent = silent. */
  readonly log?: ((line: string) => void) | undefined;
  /** Receives what made a request fail inside the service: a state that can't be written any more, say. */
  readonly failed?: ((error: unknown) => void) | undefined;
  /** Receives, line by line, what the demonstration knows when a search of it found nothing; absent = silent. */
  readonly hint?: ((line: string) => void) | undefined;
}

export interface LocalService {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly fictional: boolean;
  /** Forgets the ledger, the tasks and the keys seen; the catalogue stays. */
  reset(): void;
  /** Ends running requests as their clients going away would, and stops. */
  close(): Promise<void>;
}

/**
 * Starts the local service on 127.0.0.1. Throws CatalogueError, ScenarioError or SwitchError for a catalogue, a
 * scenario or a switch that can't be used, SQLite3Error for a state that can't be, LockTimeout when another process
 * does not let go of it, and the system's error when the port is taken.
 */
export async function startLocalService(options: LocalServiceOptions): Promise<LocalService> {
  const { stateDir, clock, pid } = options;
  const switches = createSwitches(options.switches);
  const scenario = readScenario(options.scenarioFile);
  await makePrivateFolder(stateDir);
  const store = openStore({ stateDir, pid, monotonic: () => clock.monotonic() });
  const open: { close(): void }[] = [store];
  const closeAll = () => {
    for (const part of open.splice(0).reverse()) part.close();
  };
  try {
    const catalogue = await openCatalogueOf(stateDir, options.catalogFile);
    open.push(catalogue);
    const now = () => clock.now().getTime();
    const tasks = createTaskClock(store, switches, clock, options.log);
    const { failed, log, hint } = options;
    const answering = new Set<string>();
    const service: Service = {
      store,
      catalogue,
      switches,
      scenario,
      tasks,
      answering,
      clock,
      now,
      log,
      failed,
      hint,
    };
    store.transaction((rows) => {
      endOrphans(service, rows);
      advanceTasks(rows, switches, now());
    });
    const listener = createListener(service);
    const server = createServer({ requireHostHeader: false }, listener.listen);
    server.on('clientError', listener.refuseUnreadable);
    await listen(server, options.port);
    // A connection that can't be taken, for lack of file descriptors, is lost; the service is not.
    server.on('error', (error) => log?.(`connections: ${error.message}`));
    tasks.start();
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      fictional: catalogue.fictional,
      reset: () => store.reset(),
      async close() {
        tasks.stop();
        const closed = new Promise((resolve) => server.close(resolve));
        await listener.close();
        server.closeAllConnections();
        await closed;
        closeAll();
      },
    };
  } catch (error) {
    closeAll();
    throw error;
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
