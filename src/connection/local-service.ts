import { join } from 'node:path';
import type { Context } from '../context.ts';
import {
  ConfigurationError,
  checkWebAssembly,
  type ErrorDetails,
  isOfMemory,
  LeadpipeError,
  LocalIoError,
  noMemoryMessage,
  UsageError,
} from '../errors.ts';
import { reasonOf } from '../files/write-failure.ts';
import {
  FileError,
  isSqliteError,
  LockTimeout,
  localKeys,
  SwitchError,
  startLocalService,
  toSwitches,
} from '../local-service/server.ts';

type ServiceOptions = Parameters<typeof startLocalService>[0];

export interface LocalOptions
  extends Pick<ServiceOptions, 'port' | 'catalogFile' | 'scenarioFile' | 'isFresh' | 'log' | 'hint'> {
  /** Switches as `name=value`. */
  readonly set?: readonly string[];
}

/** Starts the local service, on the state that all its runs share. Throws UsageError, LocalIoError, and an error when it is in use. */
export async function openLocalService(context: Context, options: LocalOptions) {
  const stateDir = join(context.directories.state, 'local-service');
  checkWebAssembly();
  try {
    const { set = [], ...rest } = options;
    const switches = toSwitches(set);
    let failure: unknown;
    const failed = (error: unknown): void => {
      failure ??= toFailure(error, options, stateDir);
    };
    const service = await startLocalService({
      ...rest,
      leadColumns: options.catalogFile === undefined ? undefined : await readLeadColumns(),
      switches,
      failed,
      stateDir,
      pid: context.pid,
      clock: context.clock,
    });
    return {
      service,
      apiKey: localKeys[0].key,
      failure: () => (failure instanceof LeadpipeError ? failure : undefined),
    };
  } catch (error) {
    throw toFailure(error, options, stateDir);
  }
}

/** Only loaded for the user's own catalogue file. */
async function readLeadColumns(): Promise<ServiceOptions['leadColumns']> {
  const [{ isKnownColumn: isKnown }, { leadName: nameOf, leadNameColumns }] = await Promise.all([
    import('../requests/column-meanings.ts'),
    import('../requests/lead-name.ts'),
  ]);
  return { isKnown, nameOf, hasName: (columns) => leadNameColumns(columns).length > 0 };
}

/** SQLite's messages for a disk that is full or can't be written. */
const unwritable = /disk I\/O error|disk is full|readonly|unable to open/;

function toFailure(cause: unknown, { port }: LocalOptions, stateDir: string): unknown {
  if (!(cause instanceof Error)) return cause;
  const { code, syscall } = cause as NodeJS.ErrnoException;
  const message = reasonOf(cause);
  const noState: ErrorDetails = { facts: { is: 'no_local_state' }, cause };
  if (isOfMemory(cause)) return new ConfigurationError(noMemoryMessage, { is: 'no_memory' }, cause);
  if (cause instanceof FileError) return new UsageError(message);
  if (cause instanceof SwitchError) return new UsageError(message, { is: 'bad_switch' });
  if (cause instanceof LockTimeout) {
    return new LeadpipeError('temporary', message, { cause });
  }
  if (syscall === 'listen') {
    const why = code === 'EADDRINUSE' ? 'is already in use' : `can't be used: ${message}`;
    return new LocalIoError(`port ${port} on 127.0.0.1 ${why}`, { facts: { is: 'port_in_use' }, cause });
  }
  if (isSqliteError(cause) && !unwritable.test(message)) {
    const hint = `To start over (full credits, no earlier tasks), remove the folder ${stateDir}.`;
    return new LocalIoError(`the stored state of the local service can't be used: ${message}`, {
      hint,
      cause,
    });
  }
  if (code === undefined && !isSqliteError(cause)) return cause;
  return new LocalIoError(`the local service can't write its state in ${stateDir}: ${message}`, noState);
}
