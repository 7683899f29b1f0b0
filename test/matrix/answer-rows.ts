import { frame, wholeAnswer } from '../helpers/fault-server.ts';
import { type Ending, garbledEndings, lost, type Row, well, withoutStream } from './row.ts';
import { after, body, changed, endless, hangUp, instead, reset, status, through, type Way } from './ways.ts';

/** Statuses and bodies of a 2xx that are not what the interface promises. */
const garbage: readonly (readonly [fault: string, way: Way])[] = [
  ['204', instead('HTTP/1.1 204 No Content\r\n\r\n')],
  ['202', status(202)],
  ['another content type', instead(wholeAnswer('200 OK', 'text/html', '<html>'))],
  ['no content type', instead('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')],
];

/** Bodies of JSON that are not; a stream has its own rows. */
const bodies: readonly (readonly [fault: string, way: Way])[] = [
  ['bad JSON', body('{"object":')],
  ['an empty body', body('')],
  ['JSON of another shape', body('{"available_credits":"many","success":"yes","result":[]}')],
  ['not an object', body('[]')],
  [
    'bytes that are not UTF-8',
    instead(
      Buffer.concat([
        Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n'),
        Buffer.from([0x22, 0xff, 0xfe, 0x22]),
      ]),
    ),
  ],
  ['bad gzip', body('{"object":"not gzip"}', ['Content-Encoding: gzip'])],
  ['bad brotli', body('{"object":"not brotli"}', ['Content-Encoding: br'])],
  ['gzip, seven times', body('{"object":"not gzip"}', [`Content-Encoding: ${Array(7).fill('gzip')}`])],
  // It was not requested, and leadpipe does not decode it.
  ['bad zstd', body('not zstd', ['Content-Encoding: zstd'])],
];

const garbled = { charged: 'yes', type: 'garbled' } as const;
const garbledOnce: Row['endings'] = { ...withoutStream(well(2)), P: { exit: 8, ...garbled, paid: 1 } };

/** Of bodies without end, which are slow, `test/hostile` has more. */
const overTheCap: Row = {
  fault: 'a body over the cap, once, after the service has done it',
  ways: [after(endless), through],
  endings: garbledOnce,
};

const garbledRows: readonly Row[] = [
  overTheCap,
  ...garbage.flatMap(([fault, way]) =>
    alwaysAndOnce(fault, way, garbledEndings, { ...garbledOnce, S: { exit: 8, ...garbled, paid: 1 } }),
  ),
  ...bodies.flatMap(([fault, way]) => alwaysAndOnce(fault, way, withoutStream(garbledEndings), garbledOnce)),
];

function alwaysAndOnce(fault: string, way: Way, always: Row['endings'], once: Row['endings']): Row[] {
  return [
    { fault, ways: [way], endings: always },
    { fault: `${fault}, once, after the service has done it`, ways: [after(way), through], endings: once },
  ];
}

const cutBody =
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"object":"cre';
/** The head came, and not the whole body. */
const cutRows: readonly Row[] = (
  [
    ['a body cut by the end of the connection', ({ socket }) => void socket.end(cutBody)],
    [
      'a body cut by a reset',
      ({ socket }) => void socket.write(cutBody, () => setImmediate(() => socket.resetAndDestroy())),
    ],
    ['a body that stops', ({ socket }) => void socket.write(cutBody), ['--timeout', '0.1']],
  ] as const satisfies readonly (readonly [string, Way, (readonly string[])?])[]
).map(([fault, way, options = []]) => ({
  fault: `${fault}, after the service has done it`,
  ways: [after(way)],
  options,
  endings: withoutStream(lost(1)),
}));

const whole: Ending = { exit: 0, paid: 1 };
const partial: Ending = { exit: 3, charged: 'yes', type: 'cut', paid: 1 };
const unknown: Ending = { exit: 8, charged: 'maybe', type: 'cut', paid: 1 };
const [sentinel, done] = [-1, -2];

/** The service's own stream (batches, done, [DONE]), changed on its way. */
const streamRows: readonly Row[] = (
  [
    ['as it is', whole, (frames) => frames],
    ['a batch twice', whole, ([first = '', ...rest]) => [first, first, ...rest]],
    ['an unknown event', whole, (frames) => [frame({ object: 'entity_search_hint' }), ...frames]],
    ['done without [DONE]', whole, (frames) => frames.slice(0, sentinel)],
    [
      'a frame without data, an event without any',
      whole,
      ([first = '', ...rest]) => ['data:\n\n', first, 'event: ping\ndata:\n\n', 'event: ping\n\n', ...rest],
    ],
    ['half a [DONE]', whole, (frames) => [...frames.slice(0, sentinel), 'data: [DO']],
    ['[DONE] without done', partial, (frames) => [...frames.slice(0, done), ...frames.slice(sentinel)]],
    ['neither done nor [DONE]', partial, (frames) => frames.slice(0, done)],
    ['a batch that never comes', partial, ([first = '', _, ...rest]) => [first, ...rest]],
    ['batches in another order', whole, ([first = '', second = '', ...rest]) => [second, first, ...rest]],
    ['done that counts more', partial, (frames) => frames.map((one) => counting(one, 9))],
    ['done that counts less', whole, (frames) => frames.map((one) => counting(one, 1))],
    ['done that does not count', partial, (frames) => frames.map((one) => counting(one, 'null'))],
    [
      'done that says more will come',
      partial,
      (frames) => frames.map((one) => one.replace('"finish":true', '"finish":false')),
    ],
    [
      'a second done that counts more',
      partial,
      (frames) => [
        ...frames.slice(0, sentinel),
        counting(frames.at(done) ?? '', 9),
        ...frames.slice(sentinel),
      ],
    ],
    ['a batch that counts more', partial, (frames) => inFirst(frames, /"cum_count":\d+/, '"cum_count":30')],
    ['a batch that announces more', partial, (frames) => inFirst(frames, /"count":\d+/, '"count":30')],
    [
      'a batch without its number',
      partial,
      (frames) => inFirst(frames, /"batch_index":\d+/, '"batch_index":{}'),
    ],
    ['nothing at all', unknown, () => []],
    ['an error frame first', unknown, () => [frame({ error: { message: 'sorry' } })]],
    [
      'an error frame in the middle',
      partial,
      ([first = '']) => [first, frame({ error: { message: 'sorry' } })],
    ],
    ['a frame that is not JSON', partial, ([first = '']) => [first, 'data: {"object":\n\n']],
    ['a frame that is torn', partial, ([first = '', second = '']) => [first, second.slice(0, 40)]],
  ] as const satisfies readonly (readonly [
    string,
    Ending,
    (frames: readonly string[]) => readonly string[],
  ])[]
).map(([fault, ending, change]) => ({
  fault: `the stream: ${fault}`,
  ways: [changed(change)],
  endings: { S: ending },
}));

/** The frames with another text in the first of them. */
function inFirst([first = '', ...rest]: readonly string[], from: RegExp, to: string): readonly string[] {
  return [first.replace(from, to), ...rest];
}

/** The done event with another count; any other frame as it is. */
function counting(text: string, count: number | string): string {
  return text.includes('entity_search_done') ? text.replace(/"cum_count":\d+/, `"cum_count":${count}`) : text;
}

/** The end of a stream's connection after a number of frames. After a done event with the right count it does not matter. */
const endedStream: readonly Row[] = (
  [
    ['a reset', reset, []],
    ['the end of the connection', hangUp, []],
    ['silence', () => {}, ['--timeout', '1']],
  ] as const satisfies readonly (readonly [string, Way, readonly string[]])[]
).flatMap(([fault, end, options]) =>
  (
    [
      ['before its first batch', unknown, 0],
      ['after its first batch', partial, 1],
      ['behind done, without [DONE]', whole, sentinel],
    ] as const
  ).map(([when, ending, frames]) => ({
    fault: `the stream: ${fault} ${when}`,
    // A reset overtakes what was written before it and has not been read.
    ways: [
      changed(
        (all) => all.slice(0, frames),
        (socket) => void setTimeout(() => end({ socket } as never), 250),
      ),
    ],
    options,
    endings: { S: ending },
  })),
);

/** Pages that can not be. */
const pageRows: readonly Row[] = (
  [
    ['count is not the length', { count: 2 }, 'announced 2 leads, but sent', 4],
    ['pts is another', { pts: 7 }, 'position 7', 4],
    ['num is another', { num: 7 }, 'it is a page of 7', 4],
    ['it is of another task', { leads_search_id: 'ls_other' }, 'another task', 4],
    ['it is empty and more is ready', { count: 0, entities: [] }, 'sent a page without leads', 6],
  ] as const
).flatMap(([fault, changes, says, requests]) => {
  const entities = [{ name: 'A' }];
  const good = {
    object: 'entity_search_items',
    status: 'done',
    pts: 0,
    num: 500,
    count: 1,
    ready_count: 3,
    limit: 3,
  };
  const page = body(JSON.stringify({ ...good, entities, ...changes }));
  const row = { only: ['task fetch'], config: '{"profiles":{"default":{"poll.interval":0.01}}}' };
  const type = requests === 6 ? 'page_empty' : 'page_impossible';
  const G: Ending = { exit: 76, charged: 'no', type, requests };
  return [
    { ...row, fault: `a page: ${fault}`, ways: [page], says, endings: { G } },
    {
      ...row,
      fault: `a page, once: ${fault}`,
      ways: [page, through],
      endings: { G: { exit: 0, requests: 2 } },
    },
  ] satisfies Row[];
});

export const answerRows: readonly Row[] = [
  ...garbledRows,
  ...cutRows,
  ...streamRows,
  ...endedStream,
  ...pageRows,
];
