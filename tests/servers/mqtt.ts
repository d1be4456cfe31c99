import { connect } from 'node:net';

const text = (value: string): Buffer => {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes]);
};

/** Level 4 (MQTT 3.1.1); a user, a password, and a clean session; no keep-alive. */
const HEADER = Buffer.concat([text('MQTT'), Buffer.from([4, 0b1100_0010, 0, 0])]);

/** Returns whether a broker on 127.0.0.1 accepts a user; rejects if it doesn't respond. */
export async function logIn(port: number, { user, password }: { user: string; password: string }): Promise<boolean> {
  const payload = Buffer.concat([HEADER, text('test'), text(user), text(password)]);
  const socket = connect(port, '127.0.0.1');
  try {
    socket.write(Buffer.concat([Buffer.from([0x10, payload.length]), payload]));
    for await (const [type, , , code] of socket.setTimeout(5_000, () => socket.destroy())) {
      if (type === 0x20) return code === 0;
    }
    throw new Error('the broker closed the connection');
  } finally {
    socket.destroy();
  }
}
