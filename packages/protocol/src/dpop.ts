/** The algorithms that DPoP proofs may be signed with (RFC 9449 §5.1, §7.1), as metadata and challenges list them. */
export const DPOP_ALGORITHMS = ['ES256', 'PS256', 'EdDSA'] as const
