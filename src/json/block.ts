/**
 * Bytes to write into, the same ones each time: what a long stream makes anew for each piece piles up until it is collected.
 * They are the caller's until the next time.
 */
export type Block = (size: number) => Buffer;

export function createBlock(): Block {
  let bytes = Buffer.alloc(0);
  return (size) => {
    if (bytes.length < size) bytes = Buffer.allocUnsafeSlow(Math.ceil(size * 1.25));
    return bytes.subarray(0, size);
  };
}
