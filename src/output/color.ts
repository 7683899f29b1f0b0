import { Chalk, type ChalkInstance } from 'chalk';
import type { Context, OutputStream } from '../context.ts';

/** Whether this stream gets colours: --no-color, then NO_COLOR and FORCE_COLOR, then whether it is a terminal. */
export function colorOf({ env }: Pick<Context, 'env'>, stream: OutputStream, wanted: boolean): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = env;
  if (!wanted) return false;
  if (NO_COLOR) return false;
  if (FORCE_COLOR) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return stream.isTerminal && TERM !== 'dumb';
}

/** The styles of all text for people: the basic palette, which is readable on a dark and on a light ground. */
export type Styles = ChalkInstance;

export function stylesOf(color: boolean): Styles {
  return new Chalk({ level: color ? 1 : 0 });
}
