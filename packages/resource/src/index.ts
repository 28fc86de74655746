/**
 * What a resource API imports to check an access token, and to publish the metadata of the API.
 * @module @grantor/resource
 */

export type { AccessToken } from './access-token.ts'
export type { Approval, ApprovalReceipt, ApprovalRequest, Approve } from './approval.ts'
export { ApprovalError, type ApprovalProblem, type ApprovalState } from './approval-error.ts'
export type { Draw, DrawFromLimit, DrawRequest, GiveBack, GiveBackRequest, GivenBack } from './draw.ts'
export type { FeedProblem } from './feed/problem.ts'
export type { FeedOptions } from './life-check.ts'
export type { LimitLeft, SignedLimit } from './limit.ts'
export type { PresentedRequest } from './presented-token.ts'
export type { DpopOptions } from './proof-check.ts'
export type { ProofReplays } from './proof-replays.ts'
export type { Answer, ProtectedResource, ProtectedResourceMetadata, ProtectedResourceOptions } from './protected-resource.ts'
export { createProtectedResource } from './protected-resource.ts'
export type { Requirements } from './requirements.ts'
export { ResourceError } from './resource-error.ts'
export type { TokenCheck, TokenCheckOptions } from './token-check.ts'
export { createTokenCheck } from './token-check.ts'
