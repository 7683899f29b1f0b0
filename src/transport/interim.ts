import symbols from 'undici/lib/core/symbols.js';

interface Parser {
  onHeadersComplete(status: number, upgrade: boolean, keepAlive: boolean): number;
}

type Client = Record<typeof symbols.kSocket, Record<typeof symbols.kParser, Parser>>;

/**
 * A service may send answers below 200 before the one that counts, and undici passes over them. But a 100 that it did
 * not ask for, it takes for a broken connection, and the good answer behind it is lost; so it is told 102. What can't
 * stand before an answer, a 101 that nobody asked for or a status below 100, is a broken connection all the same:
 * without this, an assertion in undici fails.
 */
export function passOverInterim(client: object): void {
  const parser = (client as Client)[symbols.kSocket][symbols.kParser];
  const { onHeadersComplete } = parser;
  parser.onHeadersComplete = (status, upgrade, keepAlive) =>
    onHeadersComplete.call(parser, toldAs(status), upgrade || status === 101, keepAlive);
}

function toldAs(status: number): number {
  if (status === 100) return 102;
  return status < 100 ? 100 : status;
}
