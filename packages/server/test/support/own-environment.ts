/** The environment of programs that tests start. The compile cache spares each start the stripping of types. */
const { PATH, NODE_COMPILE_CACHE } = process.env

export const OWN_ENVIRONMENT: NodeJS.ProcessEnv = { PATH, ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }) }
