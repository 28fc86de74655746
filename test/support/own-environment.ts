/** What a program that a test starts gets of this process's environment. The cache saves each start the work of stripping the types. */
const { PATH, NODE_COMPILE_CACHE } = process.env

export const OWN_ENVIRONMENT: NodeJS.ProcessEnv = { PATH, ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }) }
