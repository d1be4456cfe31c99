declare const PROGRAM_VERSION: string | undefined;

/** Version of the release; `dev` if the sources run unbundled. */
export const version: string = typeof PROGRAM_VERSION === 'undefined' ? 'dev' : PROGRAM_VERSION;
