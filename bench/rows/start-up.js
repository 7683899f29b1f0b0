import { inPairs, leadpipe, wall } from '../measured.js';

/** What it costs to start, beside a Node that does nothing. */
export async function startUpRows(measure, _isWanted, { binary, version }) {
  const nothing = [binary, '-e', '0'];
  const commands = [
    { args: ['--version'], aim: '≤ 1.15' },
    { args: ['--help'], aim: '≤ 1.6' },
    { args: ['search', '--help'] },
  ];
  for (const { args, aim } of commands) {
    await measure({
      name: `start-up: leadpipe ${args.join(' ')} ÷ node -e 0`,
      node: version,
      aim,
      pairs: (count) =>
        inPairs(
          count,
          () => wall(leadpipe(binary, ...args)),
          () => wall(nothing),
        ),
    });
  }
}
