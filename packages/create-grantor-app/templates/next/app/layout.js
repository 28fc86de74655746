import './style.css'

export const metadata = { title: 'my-grantor-app' }

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>
        <main>
          <h1>my-grantor-app</h1>
          {children}
        </main>
      </body>
    </html>
  )
}
