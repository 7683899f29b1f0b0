import { once } from 'node:events';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { command, start } from '../helpers/run.ts';

/** What a tool gave back. */
export interface ToolAnswer {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  // biome-ignore lint/suspicious/noExplicitAny: as whatever the tool sends
  readonly structuredContent?: any;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** `3 of 20: 3 leads so far`. */
  readonly onProgress?: (message: string) => void;
}

interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** A program that talks to the server through one of the SDK's clients. */
export interface Agent {
  readonly pid: number | null;
  call(name: string, args?: object, options?: CallOptions): Promise<ToolAnswer>;
  listTools(): Promise<readonly { readonly name: string }[]>;
  instructions(): string | undefined;
  /** All that the server wrote to stderr so far. */
  stderr(): string;
  close(): Promise<void>;
}

export interface AgentOptions {
  /** Of the SDK: the second one speaks the newest revision, the first the one before. */
  readonly version: 1 | 2;
  /** Where the server listens; a server of its own on stdio when it is not given. */
  readonly url?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What the person answers; a client that can't ask when it is not given. */
  readonly answer?: (question: string) => 'accept' | 'decline';
}

const info = { name: 'test', version: '1' };

export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { version, url, args = [], env = {}, answer } = options;
  const capabilities = answer === undefined ? {} : { elicitation: {} };
  const server = {
    command: process.execPath,
    args: [command, 'mcp', ...args],
    env: { ...env },
    stderr: 'pipe' as const,
  };
  let stderr = '';
  const respond = async ({ params }: { params: { message: string } }) => ({
    action: answer?.(params.message) ?? 'cancel',
    content: {},
  });
  // The two versions have the same methods, and types of their own.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  let client: any;
  // biome-ignore lint/suspicious/noExplicitAny: see above
  let transport: any;
  if (version === 1) {
    client = new Client1(info, { capabilities });
    if (answer !== undefined) client.setRequestHandler(ElicitRequestSchema, respond);
    transport = url === undefined ? new Stdio1(server) : new Http1(new URL(url));
  } else {
    client = new Client2(info, { capabilities, versionNegotiation: { mode: 'auto' } });
    if (answer !== undefined) client.setRequestHandler('elicitation/create', respond);
    transport = url === undefined ? new Stdio2(server) : new Http2(new URL(url));
  }
  transport.stderr?.on('data', (text: Buffer) => {
    stderr += text;
  });
  await client.connect(transport);
  return {
    get pid() {
      return transport.pid;
    },
    async call(name, given = {}, { signal, onProgress } = {}) {
      const request = { name, arguments: given };
      const how = {
        timeout: 30_000,
        ...(signal === undefined ? {} : { signal }),
        ...(onProgress === undefined
          ? {}
          : {
              onprogress: ({ progress, total, message }: Progress) =>
                onProgress(`${progress} of ${total}: ${message}`),
            }),
      };
      return version === 1
        ? await client.callTool(request, undefined, how)
        : await client.callTool(request, how);
    },
    listTools: async () => (await client.listTools()).tools,
    instructions: () => client.getInstructions(),
    stderr: () => stderr,
    async close() {
      if (version === 1 && url !== undefined) await transport.terminateSession();
      await client.close();
    },
  };
}

/** A server that listens on a port of its own. */
export async function startHttp(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ readonly url: string; stop(): Promise<{ code: number | null; stdout: string }> }> {
  const child = start(['mcp', '--http', '0', ...args], { env });
  let stdout = '';
  child.stdout.on('data', (text: Buffer) => {
    stdout += text;
  });
  let stderr = '';
  while (!stderr.includes('Ctrl-C')) stderr += String((await once(child.stderr, 'data'))[0]);
  child.stderr.resume();
  return {
    url: /(http:[^\s;]*[^\s;.])/.exec(stderr)?.[1] ?? '',
    async stop() {
      child.kill('SIGTERM');
      const [code] = await once(child, 'close');
      return { code, stdout };
    },
  };
}
