import { readFileSync } from 'node:fs';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { type EndpointName, endpoints } from '../contract/endpoints.ts';
import { decodeText } from '../files/decoded.ts';
import { isObject } from '../json/object.ts';
import { FileError, flag, integer, invalid, object, oneOf, optional, Refusal, readFields } from './fields.ts';
import { maxWaitMs } from './switches.ts';

const whole = (otherwise: number, max = Number.MAX_SAFE_INTEGER) =>
  integer({ min: 0, max, default: otherwise });

/**
 * An entry of a scenario file, `{"faults": [...]}`: it skips the first `skip` requests of an operation, and applies to the next `count`.
 * The faults:
 *
 * status           answers `status`, with `headers` and `body` if given, instead of doing anything; with
 *                  `admitted` only after the request was admitted, which releases its reservation
 * delay            answers `delay_ms` later; any other fault can have a `delay_ms` too
 * cut              ends the stream cleanly after `after_batches`, or a JSON answer in its middle
 * reset            resets the connection: a stream's after `after_batches`, any other's before it is read
 * stall            goes silent: a stream after `after_batches`, any other instead of answering
 * duplicate_batch  sends the batch with the number `after_batches` twice
 * lost_response    does everything, charges for it, and resets the connection instead of answering
 * task_error       makes the task end in `error` after `after_batches` times the batch size
 */
const faultFields = {
  operation: oneOf([...(Object.keys(endpoints) as EndpointName[]), '*']),
  skip: whole(0),
  count: whole(1),
  fault: oneOf([
    'status',
    'delay',
    'cut',
    'reset',
    'stall',
    'duplicate_batch',
    'lost_response',
    'task_error',
  ]),
  status: integer({ min: 200, max: 599, default: 500 }),
  headers: optional(toHeaders, {}),
  /** A text is sent as it is, anything else as JSON; without it, the error envelope is sent. */
  body: (given: unknown) => given,
  admitted: flag,
  delay_ms: optional(whole(0, maxWaitMs), undefined),
  after_batches: whole(1),
};

export type Fault = Readonly<ReturnType<typeof toFault>>;

/** Reads a scenario file. The returned function must be called once for each request, and returns its fault, if it has one. */
export function readScenario(path: string | undefined): (operation: EndpointName) => Fault | undefined {
  const faults = path === undefined ? [] : read(path);
  return (operation) =>
    faults.find((fault) => {
      if (fault.operation !== '*' && fault.operation !== operation) return false;
      if (fault.skip > 0) fault.skip -= 1;
      else if (fault.count > 0) {
        fault.count -= 1;
        return true;
      }
      return false;
    });
}

function read(path: string) {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new FileError(`${path} can't be read: ${(error as Error).message}`);
  }
  const text = decodeText(bytes, path);
  let where = '';
  try {
    const scenario: unknown = JSON.parse(text);
    if (!isObject(scenario) || !Array.isArray(scenario.faults)) throw new Error('"faults" must be an array');
    return scenario.faults.map((entry, index) => {
      where = `fault ${index + 1}: `;
      return toFault(object(entry, 'it'));
    });
  } catch (error) {
    throw new FileError(`${path}: ${where}${(error as Error).message}`);
  }
}

function toFault(entry: object) {
  const { delay_ms, after_batches: afterBatches, ...fault } = readFields(entry, faultFields);
  const { status, headers, body } = fault;
  const { type = 'internal_error' } = new Refusal(status, '').stated;
  const refusal = new Refusal(status, 'a fault from the scenario file', { type, headers, body });
  return {
    ...fault,
    afterBatches,
    delayMs: delay_ms ?? (fault.fault === 'delay' ? 1000 : 0),
    refusal: fault.fault === 'status' ? refusal : undefined,
  };
}

function toHeaders(given: unknown, name: string): Record<string, string> {
  const headers = Object.entries(object(given, name)).map(([header, value]) => {
    try {
      validateHeaderName(header);
      validateHeaderValue(header, String(value));
    } catch {
      throw invalid(`the name or value of the header ${header} is not valid`);
    }
    return [header, String(value)];
  });
  return Object.fromEntries(headers);
}
