import type { Socket } from 'node:net';
import { beforeEach, describe, expect, it } from 'vitest';
import { taskStatus } from '../helpers/bodies.ts';
import { ending } from '../helpers/ending.ts';
import {
  chunk,
  errorAnswer,
  frame,
  jsonAnswer,
  lastChunk,
  searchFrames,
  streamHead,
  streamStart,
  wholeAnswer,
} from '../helpers/fault-server.ts';
import { machineWith } from '../helpers/machine.ts';

const entities = [
  '{"name":"Ünal é日😀","links":{"website":"https://a.example"},"description":"d","score":{"score":"0.9","reason":"r"}}',
  '{"name":"B","follower_id":12345678901234567890,"ratio":1.10,"unknown":{"deep":[1e400,-0]}}',
  '{"name":"C","note":"line\\nbreak, \\"quoted\\""}',
];
const batches = [entities.slice(0, 2), entities.slice(2)];
const frames = searchFrames(batches);
const [first = '', second = '', done = '', sentinel = ''] = frames;
const both = first + second;
const whole = frames.join('');
const bytes = Buffer.from(whole);
const rowsOf = (leads: readonly string[]): string => leads.map((lead) => `${lead}\n`).join('');
const rows = rowsOf(entities);
const firstTwo = rowsOf(entities.slice(0, 2));

let at: Awaited<ReturnType<typeof machineWith>>;
/** The pieces of a body, each in a chunk of its own, and what is done then. */
let pieces: readonly (Uint8Array | string)[];
let end: (socket: Socket) => void;
const finish = (socket: Socket): void => void socket.write(lastChunk);
beforeEach(async () => {
  end = finish;
  at = await machineWith((socket) => {
    const chunks = pieces.filter((one) => one.length > 0).map(chunk);
    socket.write(Buffer.concat([Buffer.from(streamHead), ...chunks]));
    end(socket);
  });
});

const search = 'search company anything -f jsonl';
/** The result of a search whose answer has this body. */
function streamed(...body: typeof pieces) {
  pieces = body;
  return at.leadpipe(search);
}

/** The same frame with another text in place of one. */
function edited(text: string, from: string, to: string): string {
  expect(text).toContain(from);
  return text.replace(from, () => to);
}
const doneWith = (count: string): string => edited(done, '"cum_count":3', count);
const firstAs = (index: string): string => edited(first, '"batch_index":1', `"batch_index":${index}`);
const secondAs = (index: string): string => edited(second, '"batch_index":2', `"batch_index":${index}`);
const announcing = (count: number): string => edited(first, '"count":2', `"count":${count}`);
const ends = done + sentinel;

/** A body, what the search says of it, and how many of the leads it prints, if not all. */
type Body = [name: string, body: string, says?: string, leads?: number];

const again = 'batch 1 came again with other leads (1)';
const nullBatch = frame(
  '{"object":"entity_search_batch","batch_index":3,"count":0,"cum_count":3,"entities":null}',
);
const odd =
  edited(first, '"leads_search_id":"ls_test"', '"leads_search_id":{"toString":1}') +
  edited(second, '"count":1', '"count":[]') +
  edited(done, '"stop_reason":"limit"', `"stop_reason":${'['.repeat(20_000)}${']'.repeat(20_000)}`);
const complete: readonly Body[] = [
  ['CRLF', whole.replaceAll('\n', '\r\n')],
  ['CR', whole.replaceAll('\n', '\r')],
  ['BOM', `\ufeff${whole}`],
  ['comments and other fields', frames.map((one) => `: ping\n\nid: 1\nretry: 5\n${one}`).join('')],
  ['no space after data:', whole.replaceAll('data: ', 'data:')],
  ['several data lines', whole.replaceAll('"entities":[', '"entities":\ndata: [')],
  ['an unknown event', `${frame({ object: 'entity_search_hint', text: 'x' })}${whole}`],
  ['unknown fields and stop reason', searchFrames(batches, 'new_reason').join('')],
  ['a repeated batch', first + whole],
  ['rubbish after the sentinel', `${whole}data: {{{\n\n`],
  ['batches out of order', firstAs('2') + secondAs('1') + ends],
  ['a repeated batch of other content', first + secondAs('1') + ends, again],
  ['more than was announced', announcing(1) + second + ends, 'announced 1 lead in batch 1, but sent 2'],
  [
    'what was announced, when it comes again',
    announcing(3) + edited(announcing(3), '"entities":[', `"entities":[${entities[2]},`) + ends,
    again,
  ],
  // As some languages write an empty one.
  ['a list that is null', both + nullBatch + ends, 'batch 3 came without a list of leads'],
  ['what is odd and proves nothing', odd + sentinel, 'did not say how many leads are in batch 2; it sent 1'],
  [
    'leads beyond the count of the done event',
    both + doneWith('"cum_count":2') + sentinel,
    'counted 2 leads',
  ],
];

const uncounted = 'the service did not say how many leads it sent';
const early = 'the connection ended too early';
const fewer = 'counted 4 leads, but 3 arrived';
const upstream = frame({ error: { message: 'upstream \u001b[31mfailed' } });
const counts = ['null', '-1', '0.5', '1e400', '"many"', '{}', '[3]', '{"toString":null}', '9007199254740993'];
const withNull = edited(edited(second, '"entities":[', '"entities":[null,'), '"count":1', '"count":2');
const unfinished = edited(done, '"finish":true', '"finish":false');
const partial: readonly Body[] = [
  ['[DONE] without done', both + sentinel, early],
  ['a count above what arrived', first + ends, 'counted 3 leads, but 2 arrived', 2],
  ['a gap', first + secondAs('4') + ends, 'batch 2 never arrived'],
  ['a gap at the beginning', firstAs('2') + doneWith('"cum_count":2') + sentinel, 'batch 1 never arrived', 2],
  ['an error frame', first + upstream, 'upstream [31mfailed', 2],
  ['an error event', `${first}event: error\ndata: {"message":"no"}\n\n`, 'reported an error: no', 2],
  ['an error event of text', `${first}event: error\ndata: "no"\n\n`, 'reported an error: no', 2],
  ['an error event of a number', `${first}event: error\ndata: 429\n\n`, 'reported an error: 429', 2],
  ['an error event that says [DONE]', `${first}event: error\n${sentinel}`, 'reported an error: [DONE]', 2],
  ['an error in a batch', edited(first, '{', '{"error":"no",') + second, 'reported an error: no', 2],
  ['bad JSON', `${first}data: {"object":\n\n`, 'not JSON', 2],
  ...counts.map(
    (count): Body => [
      `a done event that counts ${count}`,
      both + doneWith(`"cum_count":${count}`) + sentinel,
      uncounted,
    ],
  ),
  ['a done event that does not count', both + doneWith('"x":3') + sentinel, uncounted],
  ['a done event that is not the end', both + unfinished + sentinel, 'not say that the search is finished'],
  ['a second done event that counts more', both + done + doneWith('"cum_count":4') + sentinel, fewer],
  [
    'a batch that counts more than the done event',
    first + edited(second, '"cum_count":3', '"cum_count":30') + ends,
    'counted 30 leads, but 3 arrived',
  ],
  [
    'a batch that brings less than it announces',
    announcing(5) + second + ends,
    'announced 5 leads in batch 1, but sent 2',
  ],
  [
    'a batch that comes again and announces less then',
    announcing(5) + first + second + ends,
    'announced 5 leads in batch 1, but sent 2',
  ],
  ['a batch without its number', first + secondAs('"2"') + ends, 'a batch came without its number'],
  ['leads that are none', first + withNull + doneWith('"cum_count":4') + sentinel, fewer],
  [
    'a done event that counts less, and no [DONE]',
    both + doneWith('"cum_count":2'),
    `${early}: the service counted 2 leads, but 3 arrived`,
  ],
];

const unknown: readonly Body[] = [
  ['an error frame before anything', frame({ error: { message: 'no' } }), 'No leads arrived', 0],
  ['nothing at all', '', 'No leads arrived', 0],
  ['nothing but a done event that does not count', doneWith('"x":0') + sentinel, '', 0],
];

describe.each<[code: number, bodies: readonly Body[]]>([
  [0, complete],
  [3, partial],
  [8, unknown],
])('exit %i: a stream with', (code, bodies) => {
  it.each(bodies)('%s', async (_, body, says = '', leads = 3) => {
    const { stdout, ...result } = await streamed(body);
    expect(result).toEqual(ending(code, says));
    // Items that are not leads are left out.
    expect(stdout).toBe(rowsOf(entities.slice(0, leads)));
    expect(at.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });
});

/** Where a body is cut; at every byte it is in test/fuzz, without a network. */
const places = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, index) => 7 * index);

describe('a stream that is whole', () => {
  it('gives the same bytes wherever it is split', async () => {
    for (const at of places) {
      const { stdout, code } = await streamed(bytes.subarray(0, at), bytes.subarray(at));
      expect({ at, stdout, code }).toEqual({ at, stdout: rows, code: 0 });
    }
  }, 120_000);

  it('does so through the built command, byte by byte', async () => {
    pieces = [...bytes].map((byte) => Uint8Array.of(byte));
    expect(await at.run(search)).toMatchObject({ stdout: rows, code: 0 });
  });

  it('does not wait for the connection to end after the sentinel', async () => {
    pieces = [bytes];
    end = () => {};
    expect(await at.run(search)).toMatchObject({ stdout: rows, code: 0 });
  });

  it.each(['jsonl', 'json', 'csv --columns follower_id,ratio,unknown'])(
    'keeps numbers as they were written in %s',
    async (format) => {
      pieces = [bytes];
      const { stdout } = await at.run(`search company anything -f ${format}`);
      expect(stdout).toSay('12345678901234567890', '1.10', '1e400', '-0');
    },
  );
});

describe('a stream that is cut off', () => {
  const doneEnds = Buffer.byteLength(both + done);
  const oddEnd = 'warning: the answer has no end marker';

  it.each([
    ['by a reset', (socket: Socket) => void socket.resetAndDestroy()],
    ['by the end of the connection', (socket: Socket) => void socket.end()],
    ['by a last chunk', finish],
  ])(
    'anywhere %s is complete only behind the done event',
    async (_, cut) => {
      end = cut;
      for (const at of [...places, doneEnds - 1, doneEnds, doneEnds + 1]) {
        const { stdout, stderr, code } = await streamed(bytes.subarray(0, at));
        // A reset overtakes what was written before it and has not been read.
        const isRead = cut === finish || (stdout === rows && code === 0);
        const isWhole = at >= doneEnds && isRead;
        expect({ at, code }).toEqual({ at, code: isWhole ? 0 : stdout === '' ? 8 : 3 });
        expect(rows.startsWith(stdout)).toBe(true);
        expect(stderr).toContain(isWhole ? oddEnd : 'stopped before its end');
      }
    },
    120_000,
  );

  it('without a length or chunks is complete after the done event', async () => {
    const head = streamHead.replace('Transfer-Encoding: chunked\r\n', 'Connection: close\r\n');
    const bare = await machineWith(head + both + done);
    expect(await bare.leadpipe(search)).toEqual({ ...ending(0, oddEnd), stdout: rows });
  });

  it('by a local service that has ended is not waited for', async () => {
    pieces = [first];
    end = () => void setTimeout(at.close, 50);
    const cut = await at.leadpipe(`${search} -o leads.jsonl --limit 9`);
    expect(cut).toMatchObject(ending(3, '2 leads arrived', 'To buy the rest: leadpipe resume op_'));
    expect(cut.stderr).not.toContain('trying again');
  });

  it('keeps the received leads in .part, names it, and says how to resume', async () => {
    pieces = [first];
    end = (socket) => void socket.end();
    const line = `search company "it's \\"x\\"" -o leads.jsonl --limit 9 --no-history`;
    expect(await at.leadpipe(line)).toMatchObject(
      ending(
        3,
        '2 leads arrived, and are in leads.jsonl.part',
        `leadpipe search company 'it'\\''s "x"' --limit 7 --no-history --dedup-service-leads ls_test`,
        'request req_test · charged: yes',
      ),
    );
    expect(at.files()).toEqual(['leads.jsonl.part']);
    expect(at.read('leads.jsonl.part')).toBe(firstTwo);
  });
});

describe('a cut search that can still be read', () => {
  const status = (state: string, ready = 3) => jsonAnswer(taskStatus(state, ready));
  const counting = edited(first, '"cum_count":2', '"cum_count":3');
  const page = (items: readonly string[], state = 'done'): string =>
    jsonAnswer(
      `{"object":"entity_search_items","leads_search_id":"ls_test","status":"${state}","pts":0,"num":500,` +
        `"count":${items.length},"ready_count":${items.length},"limit":9,"entities":[${items.join(',')}]}`,
    );
  const notFound = errorAnswer('404 Not Found', 'not_found', 'no such task');
  const otherwise = page(entities.map((entity) => entity.replace('"ratio":1.10', '"ratio":1.1')));

  const cases: readonly [name: string, status: string, page: string, code: number, stdout: string][] = [
    ['brings the rest', status('done'), page(entities), 0, rows],
    ['is not readable', notFound, notFound, 3, firstTwo],
    ['ended in error', status('error'), page(entities, 'error'), 3, firstTwo],
    ['is told in other words', status('done'), otherwise, 3, firstTwo],
    ['has less than the stream counted', status('done', 2), page(entities.slice(0, 2)), 3, firstTwo],
  ];
  it.each(cases)('%s', async (_, statusAnswer, pageAnswer, code, stdout) => {
    const cut = await machineWith((socket, { method, path }) => {
      if (method === 'POST') socket.end(streamStart(counting));
      else socket.write(path.includes('/status') ? statusAnswer : pageAnswer);
    });
    const says = code === 0 ? 'the rest was read from the service' : 'stopped before its end';
    expect(await cut.leadpipe(search)).toEqual({ ...ending(code, says), stdout });
    expect(cut.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('says that it tries again', async () => {
    const pages = [page(entities).replace('"pts":0', '"pts":7'), page(entities)];
    const cut = await machineWith((socket, { method, path }) => {
      if (method === 'POST') socket.end(streamStart(counting));
      else socket.write(path.includes('/status') ? status('done') : (pages.shift() ?? ''));
    });
    expect(await cut.leadpipe(search)).toEqual({ ...ending(0, 'warning: trying again: '), stdout: rows });
  });
});

describe('a service that sends too much', () => {
  it('causes only a few warnings', async () => {
    const many = Array.from({ length: 5000 }, (_, index) =>
      frame(`{"object":"entity_search_batch","batch_index":${index + 1},"count":"x","entities":[]}`),
    );
    const { code, stderr } = await streamed(...many, ...searchFrames([], 'x'.repeat(100_000)));
    expect(code).toBe(0);
    expect(stderr.match(/^warning: the service did not say how/gm)).toHaveLength(10);
    expect(stderr).toContain('warning: and 4990 more warnings\n');
    expect(stderr.length).toBeLessThan(2000);
  });

  it('may send more leads than were asked for: they are kept, and it is said once', async () => {
    pieces = [bytes];
    const { code, stdout, stderr } = await at.leadpipe(`${search} --limit 2`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: rows });
    expect(stderr.match(/warning: 3 leads came for a limit of 2/g)).toHaveLength(1);
  });
});

it.each(['text/plain', 'application/json'])(
  'leads that come as %s are stored: they are paid for',
  async (type) => {
    const there = await machineWith(wholeAnswer('200 OK', type, whole));
    const { code, stdout, stderr } = await there.leadpipe(
      'search company x --list company -f jsonl --json-errors',
    );
    expect({ code, stdout, ...JSON.parse(stderr).error }).toMatchObject({
      code: 8,
      stdout: '',
      charged: 'yes',
    });
    const [{ operation_id } = { operation_id: '' }] = (await there.history()) as { operation_id: string }[];
    expect((await there.leadpipe(`history show ${operation_id} -f jsonl`)).stdout).toBe(rows);
    // They are bought: a later run of the list leaves them out.
    expect((await there.leadpipe('history lists company -f jsonl')).stdout).toContain('Ünal');
  },
);
