import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LocalServiceOptions, localKeys, startLocalService } from '../../src/local-service/server.ts';
import { machineClock } from './clock.ts';
import { closing } from './closing.ts';
import { keepIndexes, lendIndexes } from './demonstration.ts';
import { bareEnvironment, pointedAt, temporaryFolder } from './run.ts';

export interface ServiceOptions extends Partial<LocalServiceOptions> {
  /** The leads it has, as JSON; those of the demonstration unless they are given. */
  readonly leads?: readonly string[];
  /** What goes wrong, as in a scenario file. */
  readonly faults?: readonly object[];
}

/** A file of its own with this text. */
export function fileOf(name: string, text: string): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, text);
  return path;
}

export type StartedService = Awaited<ReturnType<typeof startService>>;

/** A local service in this process, with a state of its own. */
export async function startService(options: ServiceOptions = {}) {
  const { leads, faults, ...rest } = options;
  const stateDir = rest.stateDir ?? temporaryFolder();
  lendIndexes(stateDir);
  const service = await startLocalService({
    port: 0,
    pid: process.pid,
    clock: machineClock,
    ...(leads && { catalogFile: fileOf('leads.jsonl', leads.join('\n')) }),
    ...(faults && { scenarioFile: fileOf('scenario.json', JSON.stringify({ faults })) }),
    ...rest,
    stateDir,
  });
  return closing({
    ...service,
    async close() {
      await service.close();
      keepIndexes(stateDir);
    },
    stateDir,
    /** The environment of a user who has nothing but this service. */
    env: () => ({ ...bareEnvironment(), ...pointedAt(service.url, localKeys[0].key) }),
  });
}
