/** The floor of a request with undici: its own `request` and Agent, bundled, and nothing else. */

import request from 'undici/lib/api/api-request.js';
import Agent from 'undici/lib/dispatcher/agent.js';

const [url, method = 'GET'] = process.argv.slice(2);
const dispatcher = new Agent();
const { body } = await request.call(dispatcher, {
  origin: new URL(url).origin,
  path: new URL(url).pathname,
  method,
  ...(method === 'GET' ? {} : { body: '{}' }),
});
for await (const piece of body) process.stdout.write(piece);
await dispatcher.close();
