import type { Connection, KnownTarget } from '../../../connection/connection.ts';
import type { Context } from '../../../context.ts';
import { withConnection } from '../../connect.ts';
import type { ConnectionOptions } from '../../options/shared-options.ts';

/** Reads the balance, which also checks the key. */
export async function readBalance(context: Context, options: ConnectionOptions, known: KnownTarget) {
  const ask = ({ client }: Connection) => client.balance(context.signal);
  return (await withConnection(context, options, ask, known)).value.available_credits;
}
