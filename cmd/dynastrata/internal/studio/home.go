package studio

import "slices"

// homeView is what the first page shows.
type homeView struct {
	Tables []tableView
	Models []Entity // read models
	Health *jobView
	Units  float64 // that a check reads
}

type tableView struct {
	Table
	Entities []Entity
}

// home shows the entities by table.
func (s *Server) home(r *visit) (*view, error) {
	tables, err := s.data.Tables(r.ctx)
	if err != nil {
		return nil, err
	}
	var h homeView
	for _, t := range tables {
		h.Tables = append(h.Tables, tableView{Table: t})
		h.Units += t.Strong
	}
	for _, e := range s.data.Entities() {
		if e.Derived {
			h.Models = append(h.Models, e)
			continue
		}
		if i := slices.IndexFunc(h.Tables, func(t tableView) bool { return t.Name == e.Table }); i >= 0 {
			h.Tables[i].Entities = append(h.Tables[i].Entities, e)
		}
	}
	if x := s.jobs.lastCheck(); x != nil {
		v := s.viewOf(x)
		h.Health = &v
	}
	return &view{Page: "home", Title: "Entities", Body: h}, nil
}
