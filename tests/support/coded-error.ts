/** Makes an error with a code, as calls to the system throw it. */
export const codedError = (code: string, message = `${code}: played`): NodeJS.ErrnoException =>
  Object.assign(new Error(message), { code });
