import type { Context, OutputStream } from '../../context.ts';

/** Whether this stream gets colours: --no-color, then FORCE_COLOR and NO_COLOR, then whether it is a terminal. */
export function colorOf(context: Context, stream: OutputStream, wanted: boolean): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = context.env;
  if (!wanted) return false;
  if (NO_COLOR) return false;
  if (FORCE_COLOR) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return stream.isTerminal && TERM !== 'dumb';
}
