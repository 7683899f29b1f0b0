import { describe, expect, it } from 'vitest';
import { hasHyperlinks } from '../../src/cli/records/record-output.ts';
import type { Context } from '../../src/context.ts';
import { research } from '../../src/operations/kinds/research.ts';
import { addressIn } from '../../src/output/readable.ts';
import { written } from '../output/gathering-sink.ts';

const terminal = { isTerminal: true } as Context['stdout'];

it.each([
  [{}, false],
  [{ TERM: 'xterm-256color' }, false],
  [{ TERM: 'xterm-kitty' }, true],
  [{ VTE_VERSION: '7006' }, true],
  [{ VTE_VERSION: '5000' }, false],
  [{ VTE_VERSION: '7006', TMUX: '/tmp/tmux' }, false],
  [{ VTE_VERSION: '7006', CI: 'true' }, false],
  [{ WT_SESSION: 'x' }, true],
  [{ WT_SESSION: 'x', TERM: 'dumb' }, false],
  [{ TERM_PROGRAM: 'iTerm.app', TERM_PROGRAM_VERSION: '3.5.0beta1' }, true],
  [{ TERM_PROGRAM: 'Apple_Terminal', TERM_PROGRAM_VERSION: '455' }, false],
  [{ KONSOLE_VERSION: '230804' }, true],
  [{ FORCE_HYPERLINK: '1' }, true],
  [{ FORCE_HYPERLINK: '0', WT_SESSION: 'x' }, false],
])('a terminal of %j: %s', (env, expected) => {
  expect(hasHyperlinks({ env, stdout: terminal })).toBe(expected);
  expect(hasHyperlinks({ env, stdout: { ...terminal, isTerminal: false } })).toBe(false);
});

describe('what a cell leads to', () => {
  it.each<[unknown, string | undefined]>([
    ['https://a.example/x?y=1#z', 'https://a.example/x?y=1#z'],
    [' HTTP://A.example ', 'http://a.example/'],
    ['https://bücher.example/ü', 'https://xn--bcher-kva.example/%C3%BC'],
    // Nothing in it ends the link, or begins another.
    ['https://evil.example/\u001b]8;;x\u0007\u009c', 'https://evil.example/%1B]8;;x%07%C2%9C'],
    ['https://evil.example/\u001b\\ next', 'https://evil.example/%1B/%20next'],
    ['javascript:alert(1)', undefined],
    ['file:///etc/passwd', undefined],
    ['a.example', undefined],
    ['https://', undefined],
    [`https://a.example/${'x'.repeat(3000)}`, undefined],
    [7, undefined],
    [null, undefined],
  ])('%j: %s', (value, address) => expect(addressIn(JSON.stringify(value))).toBe(address));

  it('encloses the text that is shown', async () => {
    const answer = { Result: 'x', Citations: ['https://a.example/b', 'a.example'] };
    const options = { layout: research.layout(), shape: 'single', links: true } as const;
    expect((await written('table', options, [JSON.stringify({ answer })])).text).toBe(
      'x\n\n[1] \u001b]8;;https://a.example/b\u001b\\https://a.example/b\u001b]8;;\u001b\\\n[2] a.example\n',
    );
  });
});
