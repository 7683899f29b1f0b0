import type { Random } from './random.ts';

const deep = (levels: number, open: string, close: string): string =>
  open.repeat(levels) + (open === '[' ? '' : '1') + close.repeat(levels);

/** What no field should hold, and some that it may. */
export const oddValues: readonly ((random: Random) => string)[] = [
  ...['null', 'true', 'false', '-1', '0.5', '1e400', '""', '"many"', '[]', '{}', '[1]', '0', '2', '30'].map(
    (text) => () => text,
  ),
  ...[
    '{"toString":1}',
    '9007199254740993',
    '"\\ud800"',
    '"\\u0000"',
    '1e0',
    '{"message":{"toString":{}}}',
  ].map((text) => () => text),
  (random) => `"${'long '.repeat(random.below(500))}"`,
  // Dear, and so rare.
  (random) => (random.oneIn(10) ? deep(5000 + random.below(15_000), '[', ']') : '[[[]]]'),
  (random) => (random.oneIn(10) ? deep(5000 + random.below(15_000), '{"toString":', '}') : '{"a":{}}'),
];

const entityTexts: readonly ((n: number, random: Random) => string)[] = [
  (n) => `{"name":"L${n}"}`,
  (n) => `{ "name" : "L${n}" ,\t"links":{"website":"https://a.example/${n}"}, "score":{"score":"0.9"} }`,
  (n) => `{"name":"Ünal é日😀 ${n}","id":1234567890123456789${n},"ratio":1.10,"e":[1e400,-0]}`,
  (n) => `{"name":"\\"quoted\\" \\\\ ${n}","note":"line\\nbreak }],{[","\\u0061":"\\ud83d\\ude00"}`,
  (n) => `{"name":"half \\ud800 ${n}","__proto__":{"x":1},"toString":null,"name":"twice"}`,
  (n, random) => `{"name":"${n}","description":"${'x'.repeat(random.below(400))}"}`,
  () => '{}',
  (n) => `{"object":"entity_search_done","cum_count":${n},"data":"data: [DONE]"}`,
];

export function makeEntity(random: Random): string {
  return random.pick(entityTexts)(random.below(1000), random);
}
