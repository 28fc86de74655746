'use client'

import { SignInButton } from '@grantor/connect/react'
import { signIn, signOut } from 'next-auth/react'

export function SignIn() {
  return <SignInButton onClick={() => signIn('grantor')} />
}

export function SignOut() {
  return (
    <button type="button" className="button quiet" id="sign-out" onClick={() => signOut()}>
      Sign out
    </button>
  )
}
