import { Client as Client2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { closing } from '../helpers/closing.ts';
import { type Answer, jsonAnswer, startFaultServer } from '../helpers/fault-server.ts';
import { ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { bareEnvironment, command, pointedAt } from '../helpers/run.ts';

/** What a tool gave back. */
export interface ToolAnswer {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  // biome-ignore lint/suspicious/noExplicitAny: as whatever the tool sends
  readonly structuredContent?: any;
}

interface CallOptions {
  readonly signal?: AbortSignal;
  /** `3 of 20: 3 leads so far`. */
  readonly onProgress?: (message: string) => void;
}

interface AgentOptions {
  /** Of the SDK: the second one speaks the newest revision, the first the one before. */
  readonly version?: 1 | 2;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What the person answers; a client that can't ask when it is not given. */
  readonly answer?: (question: string) => 'accept' | 'decline' | 'cancel';
  /** In what ways it can ask. */
  readonly elicitation?: Record<string, Record<string, never>>;
}

const info = { name: 'test', version: '1' };

export type Agent = Awaited<ReturnType<typeof startAgent>>;

/** A program that talks to the server through one of the SDK's clients. */
export async function startAgent({
  version = 2,
  args = [],
  env = {},
  answer,
  elicitation = {},
}: AgentOptions) {
  const capabilities = answer === undefined ? {} : { elicitation };
  const server = { command: process.execPath, args: [command, 'mcp', ...args], env: { ...env } };
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
    transport = new Stdio1({ ...server, stderr: 'ignore' });
  } else {
    client = new Client2(info, { capabilities, versionNegotiation: { mode: 'auto' } });
    if (answer !== undefined) client.setRequestHandler('elicitation/create', respond);
    transport = new Stdio2({ ...server, stderr: 'ignore' });
  }
  await client.connect(transport);
  const call = async (name: string, given: object = {}, options: CallOptions = {}): Promise<ToolAnswer> => {
    const { signal, onProgress } = options;
    const onprogress = (one: { progress: number; total?: number; message?: string }): void =>
      onProgress?.(`${one.progress} of ${one.total}: ${one.message}`);
    const how = { timeout: 120_000, ...(signal && { signal }), ...(onProgress && { onprogress }) };
    const request = { name, arguments: given };
    return version === 1
      ? await client.callTool(request, undefined, how)
      : await client.callTool(request, how);
  };
  return closing({
    call,
    /** The members of the result alone. */
    ask: async (name: string, given?: object, options?: CallOptions) =>
      (await call(name, given, options)).structuredContent,
    listTools: async (): Promise<{ name: string }[]> => (await client.listTools()).tools,
    instructions: (): string | undefined => client.getInstructions(),
    kill: () => process.kill(transport.pid, 'SIGKILL'),
    close: (): Promise<void> => client.close(),
  });
}

/** A service that counts, and the environment of a user of it who has bought nothing yet. */
export async function startLedger(...options: Parameters<typeof startLedgerService>) {
  const service = await startLedgerService(...options);
  const newUser = () => ({ ...bareEnvironment(), ...pointedAt(service.url, ledgerKey) });
  return { service, newUser, env: newUser() };
}

export const credits = jsonAnswer({ object: 'credit_balance', available_credits: 1000 });

/** A service that answers so, and the environment of a user of it. */
export async function serving(answer: Answer, ...key: string[]) {
  const service = await startFaultServer(answer);
  return { service, env: { ...bareEnvironment(), ...pointedAt(service.url, ...key) } };
}
