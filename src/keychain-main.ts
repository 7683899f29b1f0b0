/**
 * The child process that accesses the operating system's keychain. The native call can block its process for any time, and only a
 * process can be ended from outside. Request and answer go through the IPC channel, so that no secret is in an argument, the
 * environment or a stream.
 */
import type { KeychainAnswer, KeychainFault, KeychainRequest } from './config/keychain.ts';

process.once('message', async (request: KeychainRequest) => {
  process.send?.(await answerTo(request), () => process.disconnect());
});

async function answerTo({ action, service, account, secret }: KeychainRequest): Promise<KeychainAnswer> {
  let keyring: typeof import('@napi-rs/keyring');
  try {
    keyring = await import('@napi-rs/keyring');
  } catch {
    return { failure: { kind: 'absent', message: 'the library @napi-rs/keyring is not installed' } };
  }
  try {
    // Without this it would fall back to the kernel's keyring, which forgets everything at the end of the session.
    const entry = new keyring.Entry(service, account, { linux: { store: 'secret-service' } });
    if (action === 'get') return { secret: entry.getPassword() };
    if (action === 'delete') return { deleted: entry.deleteCredential() };
    entry.setPassword(secret ?? '');
    return {};
  } catch (error) {
    const { message } = error as Error;
    return { failure: { kind: kindOf(message), message } };
  }
}

/** The library reports the kind of a failure only in its message. */
function kindOf(message: string): KeychainFault {
  if (/did not receive a reply/i.test(message)) return 'silent';
  return /dismissed|\blocked|not allowed|access platform storage/i.test(message) ? 'locked' : 'absent';
}
