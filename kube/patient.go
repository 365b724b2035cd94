package kube

import (
	"context"
	"net"
	"time"
)

const (
	// bulk is how much must arrive without a break before a connection is read
	// patiently.
	bulk = 1 << 20
	// aBreak is how long nothing must arrive for a bulk to end.
	aBreak = 20 * time.Millisecond
	// pause is how long arriving data is left to accumulate.
	pause = 2 * time.Millisecond
	// gathered is how much is read at once.
	gathered = 256 << 10
)

// patient is a connection that reads long responses in large pieces. A server sends a
// list in pieces of a few kilobytes, each of which would wake the reader, and waking
// costs more than reading. Short responses and occasional data, such as the events of a
// watch, are read at once.
type patient struct {
	net.Conn
	buf  []byte // nil while there is no bulk
	rest []byte // the part of buf that was not taken yet
	run  int64  // what has come since the last break
	last time.Time
	more bool // the last read did not take everything
}

func (p *patient) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		if p.run < bulk {
			n, err := p.Conn.Read(b)
			p.came(n, len(b))
			return n, err
		}
		if p.buf == nil {
			p.buf = make([]byte, gathered)
		}
		if !p.more {
			time.Sleep(pause)
		}
		n, err := p.Conn.Read(p.buf)
		p.rest = p.buf[:n]
		p.came(n, len(p.buf))
		if n == 0 {
			return 0, err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	if len(p.rest) == 0 && p.run < bulk {
		p.buf, p.rest = nil, nil
	}
	return n, nil
}

// came notes how much was read of what was asked for.
func (p *patient) came(n, asked int) {
	now := time.Now()
	if now.Sub(p.last) > aBreak {
		p.run = 0
	}
	p.run += int64(n)
	p.last, p.more = now, n == asked
}

type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// patiently makes the connections of a dialer patient.
func patiently(d dial) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &patient{Conn: c}, nil
	}
}
