import {
  type Connection,
  withConnection as connect,
  type Route,
  type RouteListener,
  type RouteOptions,
  type RouteStart,
  withRoute as route,
} from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { createNotes } from './messages/notes.ts';
import { createWayLine } from './messages/way-line.ts';
import type { ConnectionOptions } from './options/options.ts';

/** As in connection/connection.ts, by the options of a command. `say` is told what is good to know, where that can't be said at once. */
export function withConnection<T>(
  context: Context,
  options: ConnectionOptions,
  work: (connection: Connection) => Promise<T>,
  start?: RouteStart,
  say = createNotes(context, options).say,
): Promise<T> {
  const way = createWayLine(context, options);
  const listener = { ...toListener(context, options), say, waits: way.waits, connecting: way.connecting };
  return connect(context, toRoute(options), listener, work, start).finally(way.stop);
}

/** As in connection/connection.ts, by the options of a command. */
export function withRoute<T>(
  context: Context,
  options: ConnectionOptions,
  work: (route: Route) => Promise<T>,
  start?: RouteStart,
): Promise<T> {
  return route(context, toRoute(options), toListener(context, options), work, start);
}

/** Pure: the address of an option, and what to call it. */
export function addressOf({ baseUrl }: Pick<ConnectionOptions, 'baseUrl'>): RouteOptions['address'] {
  return baseUrl === undefined ? undefined : { text: baseUrl, source: '--base-url' };
}

function toRoute(options: ConnectionOptions): RouteOptions {
  return { ...options, address: addressOf(options) };
}

function toListener(context: Context, options: ConnectionOptions): RouteListener {
  const { say, trace } = createNotes(context, options);
  return { say, ...(options.verbose ? { trace } : {}) };
}
