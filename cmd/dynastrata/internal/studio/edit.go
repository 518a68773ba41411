package studio

func (s *Server) edit(r *visit) (*view, error)    { return nil, NotFound }
func (s *Server) preview(r *visit) (*view, error) { return nil, NotFound }
func (s *Server) write(r *visit) (*view, error)   { return nil, NotFound }
