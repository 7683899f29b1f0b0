import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../clock.ts';
import { makePrivateFolder } from '../files/private-folder.ts';
import { loadSqlite } from '../sqlite/database.ts';
import { type Catalogue, openCatalogueOf } from './catalogue.ts';
import type { LeadColumns } from './catalogue-file.ts';
import { transactionNow } from './ledger.ts';
import { listenTo } from './listener.ts';
import { readScenario } from './scenario.ts';
import type { Listeners, Service } from './service.ts';
import { empty, openStore } from './store.ts';
import { createSwitches, type Switches } from './switches.ts';

export { isSqliteError } from '../sqlite/database.ts';
export { FileError } from './fields.ts';
export { localKeys } from './keys.ts';
export { LockTimeout } from './store.ts';
export { SwitchError, toSwitches } from './switches.ts';

export interface LocalServiceOptions extends Listeners {
  /** Folder of the state: 0700, its files 0600. */
  readonly stateDir: string;
  /** The port on 127.0.0.1; 0 = any free one. */
  readonly port: number;
  /** The ID of this process, stored with its running requests, so that those of a killed process can be recognised. */
  readonly pid: number;
  /** The user's own leads, in any format that a list can have; absent = the demonstration. */
  readonly catalogFile?: string | undefined;
  /** The meanings of its columns; absent = the name of a lead is in `name`. */
  readonly leadColumns?: LeadColumns | undefined;
  readonly switches?: Partial<Switches> | undefined;
  /** Whether the accounts, tasks and keys of earlier runs are removed first. */
  readonly isFresh?: boolean | undefined;
  /** Faults to try out, see scenario.ts. */
  readonly scenarioFile?: string | undefined;
  readonly clock: Clock;
}

/**
 * Starts the local service on 127.0.0.1. Throws FileError for an unusable catalogue or scenario, SQLite's error for an unusable state, LockTimeout if
 * another process keeps it locked, and the system's error if the port is taken.
 */
export async function startLocalService(options: LocalServiceOptions) {
  const { stateDir, clock, pid, port, log, failed, hint } = options;
  const switches = createSwitches(options.switches);
  const scenario = readScenario(options.scenarioFile);
  await makePrivateFolder(stateDir);
  await loadSqlite();
  const store = openStore({ stateDir, pid, monotonic: () => clock.monotonic() });
  let catalogue: Catalogue | undefined;
  const closeFiles = () => {
    catalogue?.close();
    store.close();
  };
  try {
    catalogue = await openCatalogueOf(
      stateDir,
      options.catalogFile,
      (line) => hint?.(line),
      options.leadColumns,
    );
    const now = () => clock.now().getTime();
    const answering = new Map<string, Promise<void>>();
    const service: Service = {
      ...{ store, catalogue, switches, scenario, clock, now, log, failed, hint, answering },
    };
    const hasAccounts = transactionNow(service, (rows) => {
      if (options.isFresh) empty(rows);
      return rows.get('SELECT 1 FROM accounts') !== undefined;
    });
    const server = createServer({ requireHostHeader: false });
    listenTo(server, service);
    server.listen({ port, host: '127.0.0.1', exclusive: true });
    await once(server, 'listening');
    // If no file descriptors are left, a connection is lost, but the service continues.
    server.on('error', (error) => log?.(`connections: ${error.message}`));
    return {
      /** `http://127.0.0.1:<port>` */
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      fictional: catalogue.fictional,
      /** Whether there are accounts of earlier runs. They keep their credits. */
      hasAccounts,
      /** Ends running requests as if their clients had disconnected, and stops. */
      async close() {
        const closed = once(server, 'close');
        server.close();
        server.closeAllConnections();
        await closed;
        await Promise.all(answering.values());
        closeFiles();
      },
    };
  } catch (error) {
    closeFiles();
    throw error;
  }
}
