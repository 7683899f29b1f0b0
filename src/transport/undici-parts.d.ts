// undici's own files, imported one by one: its index also loads fetch, caches, mocks and WebSocket, which doubles the start-up time of a
// command that only needs an agent.
declare module 'undici/lib/dispatcher/agent.js' {
  import type { Agent } from 'undici';

  const agent: typeof Agent;
  export default agent;
}
declare module 'undici/lib/core/connect.js' {
  import type { Socket } from 'node:net';
  import type { buildConnector } from 'undici';

  export default function createConnector(
    options: buildConnector.BuildOptions,
  ): (target: buildConnector.Options, callback: buildConnector.Callback) => Socket;
}
