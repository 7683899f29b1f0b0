import { readFileSync } from 'node:fs';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { type EndpointName, endpoints } from '../contract/endpoints.ts';
import { decodeText } from '../files/decoded.ts';
import { longestWaitMs } from './switches.ts';

/**
 * A fault to rehearse. A scenario file is `{"faults": [...]}`; each entry names an operation, how many of its
 * requests are let through first (`skip`), how many are hit (`count`), and what happens to those:
 *
 * status           answers `status`, with `headers` and `body` where given, instead of doing anything; with
 *                  `admitted` only after the request was admitted, which releases its reservation
 * delay            answers `delay_ms` later; any other fault can have a `delay_ms` too
 * cut              ends the stream cleanly after `after_batches`, or a JSON answer in its middle
 * reset            resets the connection: a stream's after `after_batches`, any other's before it is read
 * stall            goes silent: a stream after `after_batches`, any other instead of answering
 * duplicate_batch  sends the batch with the number `after_batches` twice
 * lost_response    does everything, charges for it, and resets the connection instead of answering
 * task_error       lets the task end in `error` after `after_batches` times the batch size
 */
export interface Fault {
  readonly operation: EndpointName | '*';
  readonly skip: number;
  readonly count: number;
  readonly fault: FaultKind;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A text is sent as it is, anything else as JSON; absent = the error envelope. */
  readonly body: unknown;
  readonly admitted: boolean;
  readonly delayMs: number;
  readonly afterBatches: number;
}

const faultKinds = [
  'status',
  'delay',
  'cut',
  'reset',
  'stall',
  'duplicate_batch',
  'lost_response',
  'task_error',
] as const;
type FaultKind = (typeof faultKinds)[number];

/** Thrown for a scenario that can't be used; the message says where and why. */
export class ScenarioError extends Error {
  override readonly name = 'ScenarioError';
}

export interface Scenario {
  /** The fault of this request, when it gets one. Every call counts as a request. */
  next(operation: EndpointName): Fault | undefined;
}

export function readScenario(path: string | undefined): Scenario {
  const left = path === undefined ? [] : parse(path).map((fault) => ({ ...fault }));
  return {
    next(operation) {
      for (const fault of left) {
        if (fault.operation !== '*' && fault.operation !== operation) continue;
        if (fault.skip > 0) fault.skip -= 1;
        else if (fault.count > 0) {
          fault.count -= 1;
          return fault;
        }
      }
      return undefined;
    },
  };
}

type Mutable<Type> = { -readonly [Member in keyof Type]: Type[Member] };

function parse(path: string): Mutable<Fault>[] {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new ScenarioError(`${path} can't be read: ${(error as Error).message}`);
  }
  const text = decodeText(bytes, path);
  let scenario: unknown;
  try {
    scenario = JSON.parse(text);
  } catch (error) {
    throw new ScenarioError(`${path} can't be read as JSON: ${(error as Error).message}`);
  }
  const faults = (scenario as { faults?: unknown } | null)?.faults;
  if (!Array.isArray(faults)) throw new ScenarioError(`${path}: "faults" must be an array`);
  return faults.map((entry, index) => toFault(entry, `${path}: fault ${index + 1}`));
}

const members = 'operation skip count fault status headers body admitted delay_ms after_batches'.split(' ');

function toFault(value: unknown, where: string): Mutable<Fault> {
  const refuse = (message: string) => new ScenarioError(`${where}: ${message}`);
  if (typeof value !== 'object' || value === null) throw refuse('must be an object');
  const entry = value as Record<string, unknown>;
  const unknown = Object.keys(entry).find((name) => !members.includes(name));
  if (unknown !== undefined) throw refuse(`unknown member ${unknown}`);
  const operation = [...(Object.keys(endpoints) as EndpointName[]), '*' as const].find(
    (name) => name === entry.operation,
  );
  if (operation === undefined)
    throw refuse(`operation must be one of ${Object.keys(endpoints).join(', ')}, *`);
  const fault = faultKinds.find((kind) => kind === entry.fault);
  if (fault === undefined) throw refuse(`fault must be one of ${faultKinds.join(', ')}`);
  const whole = (name: string, otherwise: number, max?: number): number => {
    const number = entry[name] ?? otherwise;
    if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0 || number > (max ?? number))
      throw refuse(
        `${name} must be a whole number${max === undefined ? ', at least 0' : ` from 0 to ${max}`}`,
      );
    return number;
  };
  const status = whole('status', 500);
  if (status < 200 || status > 599) throw refuse('status must be from 200 to 599');
  return {
    operation,
    fault,
    status,
    skip: whole('skip', 0),
    count: whole('count', 1),
    delayMs: whole('delay_ms', fault === 'delay' ? 1000 : 0, longestWaitMs),
    afterBatches: whole('after_batches', 1),
    headers: toHeaders(entry.headers ?? {}, refuse),
    body: entry.body,
    admitted: entry.admitted === true,
  };
}

function toHeaders(value: unknown, refuse: (message: string) => ScenarioError): Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refuse('headers must be an object');
  for (const [name, text] of Object.entries(value)) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, String(text));
    } catch {
      throw refuse(`the name or value of the header ${name} is not valid`);
    }
  }
  return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, String(text)]));
}
